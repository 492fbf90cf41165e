"""Vectors in the plane: positions, clusters of them, and names for these."""
