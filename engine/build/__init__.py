"""Collections that SeedLens makes itself."""
