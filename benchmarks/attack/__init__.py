"""What one attacker costs another project."""
