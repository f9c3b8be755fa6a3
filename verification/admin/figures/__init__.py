"""The figures: their page, and the parts of it that other pages show."""
