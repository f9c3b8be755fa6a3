"""What adapters read alike: vendors' answers and calls, what an SMS holds, how languages are written."""
