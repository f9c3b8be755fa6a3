"""What stands above every list: saved views, the choice of columns, and the form of filters."""
