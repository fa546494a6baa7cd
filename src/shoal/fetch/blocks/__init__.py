"""Pages that say that a host refuses crawlers: a challenge, a denial, a captcha, a login wall."""
