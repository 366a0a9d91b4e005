"""Switches: what can be turned off or replaced in a trained model.

`sets` lists them and combines any number; `switch` has the base classes; every other module is one switch with its
fields, text form, check and edits; `edits` joins the edits of all.
"""
