"""Attribution: what an output token rests on, by many methods, and what a part of another sentence changes."""
