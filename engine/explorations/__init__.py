"""Explorations: their grades, trails, reading lists and saved searches, and their exports."""
