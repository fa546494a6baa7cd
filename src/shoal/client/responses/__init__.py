"""What the API answers, described once: the client's types, and the schemas of the OpenAPI document.

The control plane builds its schemas from these classes (`control/response_schemas.py`): a class docstring describes an
answer, and the text below a field describes the field. The client only names the types, so nothing here may import
pydantic.
"""
