"""Protection: the rules on who may ask for a code and how often, challenges, and the traffic guard."""
