"""What SeedLens knows. Importing this package loads neither streamlit nor torch."""

__version__ = "0.1.0"
