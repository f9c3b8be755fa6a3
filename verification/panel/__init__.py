"""The owners' and operators' panel: its door, its pages, and the frame that the pages share."""
