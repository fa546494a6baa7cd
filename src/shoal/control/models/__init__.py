"""The pydantic models of the API's request bodies and queries; `shoal/client/responses/` describes the answers."""
