"""Switches: what can be turned off or replaced in a trained model.

`sets` lists them and puts any number together; `switch` has the base classes; every other module is one switch, which
owns its fields, text form, check and edits; `edits` joins the edits of all.
"""
