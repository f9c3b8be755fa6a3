"""The choice of the best provider in each country, by what each has shown, and what it would have saved."""
