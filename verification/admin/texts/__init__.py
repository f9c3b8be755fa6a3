"""The pages of message texts: all languages side by side, and the editor of one."""
