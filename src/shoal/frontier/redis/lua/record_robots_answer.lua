-- flags: allow-oom
-- Records that the host answered the job's request for robots.txt. Its crawl-delay is a minimum for every gap.
-- args: job, host, crawl_delay_s
-- returns true

local CRAWL_DELAY_FRESH_S = 86000

check_number('crawl_delay_s', args.crawl_delay_s, 0, 1e6)
local job, host = job_of(args.job), host_of(args.host)
if job.id ~= NO_QUEUES then mark_answered(job, args.host) end
-- Several origins may share a host's clock: the slowest crawl-delay of the last day applies.
local asked_s = host.crawl_delay_at > now - CRAWL_DELAY_FRESH_S and host.crawl_delay_s or 0
host.crawl_delay_s, host.crawl_delay_at = math.max(args.crawl_delay_s, asked_s), now
hold(host, now + args.crawl_delay_s * GAP_MARGIN)
save()
return answer(true)
