"""Explorations: their grades, trails, reading lists and saved searches, and files of them."""
