"""What every page shows around its content: header, sentence, state and link, menus."""
