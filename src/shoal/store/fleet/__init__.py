"""What only a fleet stores: tokens, schedules, webhooks, host overrides, idempotency keys."""
