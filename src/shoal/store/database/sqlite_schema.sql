CREATE TABLE segments (
	job TEXT NOT NULL,
	segment TEXT NOT NULL,
	machine TEXT NOT NULL,
	process TEXT NOT NULL,
	state TEXT NOT NULL,
	bytes BIGINT NOT NULL,
	at DOUBLE NOT NULL,
	PRIMARY KEY (job, segment)
);
CREATE TABLE stored_files (
	job TEXT NOT NULL,
	path TEXT NOT NULL,
	bytes BIGINT NOT NULL,
	PRIMARY KEY (job, path)
);
CREATE TABLE tokens (
	id TEXT NOT NULL,
	name TEXT NOT NULL,
	scope TEXT NOT NULL,
	hash TEXT NOT NULL,
	created_at DOUBLE NOT NULL,
	used_at DOUBLE,
	PRIMARY KEY (id),
	UNIQUE (name)
);
CREATE TABLE answers (
	token TEXT NOT NULL,
	"key" TEXT NOT NULL,
	request TEXT NOT NULL,
	claimed_at DOUBLE NOT NULL,
	job TEXT NOT NULL,
	status INTEGER,
	body TEXT,
	PRIMARY KEY (token, "key")
);
CREATE TABLE exclusions (
	id INTEGER NOT NULL,
	version INTEGER NOT NULL,
	lines TEXT NOT NULL,
	PRIMARY KEY (id)
);
CREATE TABLE hosts (
	host TEXT NOT NULL,
	rate DOUBLE,
	paused BOOLEAN NOT NULL,
	PRIMARY KEY (host)
);
CREATE TABLE schedules (
	id TEXT NOT NULL,
	name TEXT NOT NULL,
	cron TEXT NOT NULL,
	zone TEXT NOT NULL,
	overlap TEXT NOT NULL,
	job TEXT NOT NULL,
	paused BOOLEAN NOT NULL,
	created_at DOUBLE NOT NULL,
	due_at DOUBLE NOT NULL,
	owner TEXT,
	PRIMARY KEY (id)
);
CREATE TABLE deliveries (
	id TEXT NOT NULL,
	job TEXT NOT NULL,
	state TEXT NOT NULL,
	"before" TEXT NOT NULL,
	reason TEXT,
	at DOUBLE NOT NULL,
	attempts INTEGER NOT NULL,
	due_at DOUBLE,
	delivered_at DOUBLE,
	fault TEXT,
	PRIMARY KEY (id)
);
CREATE TABLE runs (
	schedule TEXT NOT NULL,
	tick DOUBLE NOT NULL,
	job TEXT NOT NULL,
	state TEXT NOT NULL,
	missed INTEGER NOT NULL,
	reason TEXT,
	claimed_at DOUBLE,
	PRIMARY KEY (schedule, tick)
);
CREATE TABLE items (
	job TEXT NOT NULL,
	page BIGINT NOT NULL,
	ordinal INTEGER NOT NULL,
	type TEXT NOT NULL,
	"key" TEXT,
	data TEXT NOT NULL,
	token BIGINT NOT NULL,
	PRIMARY KEY (job, page, ordinal)
);
CREATE TABLE files (
	job TEXT NOT NULL,
	file BIGINT NOT NULL,
	page BIGINT NOT NULL,
	urls TEXT NOT NULL,
	PRIMARY KEY (job, file, page)
);
CREATE TABLE rejects (
	job TEXT NOT NULL,
	page BIGINT NOT NULL,
	ordinal INTEGER NOT NULL,
	type TEXT NOT NULL,
	data TEXT NOT NULL,
	reason TEXT NOT NULL,
	token BIGINT NOT NULL,
	PRIMARY KEY (job, page, ordinal)
);
CREATE TABLE item_types (
	job TEXT NOT NULL,
	name TEXT NOT NULL,
	place INTEGER NOT NULL,
	kinds TEXT NOT NULL,
	PRIMARY KEY (job, name)
);
CREATE TABLE quality (
	job TEXT NOT NULL,
	type TEXT NOT NULL,
	field TEXT NOT NULL,
	place INTEGER NOT NULL,
	kind TEXT NOT NULL,
	n BIGINT NOT NULL,
	nulls BIGINT NOT NULL,
	"distinct" INTEGER NOT NULL,
	least TEXT,
	most TEXT,
	PRIMARY KEY (job, type, field)
);
CREATE TABLE changes (
	id INTEGER NOT NULL,
	job TEXT NOT NULL,
	part INTEGER NOT NULL,
	at DOUBLE NOT NULL,
	n INTEGER NOT NULL,
	packed TEXT NOT NULL,
	PRIMARY KEY (id)
);
CREATE TABLE jobs (
	id TEXT NOT NULL,
	name TEXT NOT NULL,
	state TEXT NOT NULL,
	spec TEXT NOT NULL,
	created_at DOUBLE NOT NULL,
	started_at DOUBLE,
	finished_at DOUBLE,
	seconds DOUBLE NOT NULL,
	reason TEXT,
	admitted TEXT NOT NULL,
	seeded BOOLEAN NOT NULL,
	offered_line INTEGER NOT NULL,
	version INTEGER NOT NULL,
	told INTEGER NOT NULL,
	fleet BOOLEAN NOT NULL,
	request_id TEXT,
	extracted_by TEXT,
	owner TEXT,
	spider_versions TEXT,
	PRIMARY KEY (id)
);
CREATE TABLE inputs (
	job TEXT NOT NULL,
	line INTEGER NOT NULL,
	spelt TEXT NOT NULL,
	url TEXT,
	fingerprint BIGINT,
	host TEXT,
	reason TEXT,
	duplicate_of INTEGER,
	columns TEXT,
	PRIMARY KEY (job, line)
);
CREATE TABLE hooks (
	job TEXT NOT NULL,
	hook TEXT NOT NULL,
	state TEXT NOT NULL,
	claimed_until DOUBLE,
	result TEXT,
	PRIMARY KEY (job, hook)
);
CREATE TABLE tallies (
	job TEXT NOT NULL,
	kind TEXT NOT NULL,
	"key" TEXT NOT NULL,
	part INTEGER NOT NULL,
	n BIGINT NOT NULL,
	sample TEXT,
	first_at DOUBLE,
	last_at DOUBLE,
	trend TEXT,
	PRIMARY KEY (job, kind, "key", part)
);
CREATE TABLE series (
	job TEXT NOT NULL,
	at BIGINT NOT NULL,
	seconds INTEGER NOT NULL,
	pages INTEGER NOT NULL,
	by_status TEXT NOT NULL,
	bytes BIGINT NOT NULL,
	items INTEGER NOT NULL,
	p50_ms INTEGER,
	p95_ms INTEGER,
	queue BIGINT,
	PRIMARY KEY (job, at)
);
CREATE TABLE pages (
	job TEXT NOT NULL,
	fingerprint BIGINT NOT NULL,
	token BIGINT NOT NULL,
	url TEXT NOT NULL,
	host TEXT NOT NULL,
	status INTEGER NOT NULL,
	depth INTEGER NOT NULL,
	parent BIGINT,
	content_type TEXT NOT NULL,
	bytes BIGINT NOT NULL,
	digest TEXT NOT NULL,
	attempts INTEGER NOT NULL,
	duration_ms INTEGER NOT NULL,
	fetched_at DOUBLE NOT NULL,
	via TEXT NOT NULL,
	archive TEXT,
	changed BOOLEAN,
	etag TEXT,
	last_modified TEXT,
	tdm_reservation TEXT,
	tdm_policy TEXT,
	title TEXT,
	canonical TEXT,
	noindex BOOLEAN,
	nofollow BOOLEAN,
	merged_into BIGINT,
	change_kind TEXT,
	is_asset BOOLEAN,
	session TEXT,
	PRIMARY KEY (job, fingerprint)
);
CREATE TABLE canonicals (
	job TEXT NOT NULL,
	canonical BIGINT NOT NULL,
	page BIGINT NOT NULL,
	PRIMARY KEY (job, canonical)
);
CREATE TABLE contents (
	job TEXT NOT NULL,
	fingerprint BIGINT NOT NULL,
	token BIGINT NOT NULL,
	packed BLOB NOT NULL,
	PRIMARY KEY (job, fingerprint)
);
CREATE TABLE redirects (
	job TEXT NOT NULL,
	fingerprint BIGINT NOT NULL,
	token BIGINT NOT NULL,
	url TEXT NOT NULL,
	host TEXT NOT NULL,
	status INTEGER NOT NULL,
	depth INTEGER NOT NULL,
	parent BIGINT,
	target TEXT NOT NULL,
	target_fingerprint BIGINT,
	reason TEXT,
	fetched_at DOUBLE NOT NULL,
	PRIMARY KEY (job, fingerprint)
);
CREATE TABLE dead (
	job TEXT NOT NULL,
	fingerprint BIGINT NOT NULL,
	token BIGINT NOT NULL,
	url TEXT NOT NULL,
	host TEXT NOT NULL,
	reason TEXT NOT NULL,
	status INTEGER,
	detail TEXT NOT NULL,
	depth INTEGER NOT NULL,
	parent BIGINT,
	attempts INTEGER NOT NULL,
	died_at DOUBLE NOT NULL,
	request TEXT NOT NULL,
	PRIMARY KEY (job, fingerprint)
);
CREATE TABLE drops (
	job TEXT NOT NULL,
	fingerprint BIGINT NOT NULL,
	token BIGINT NOT NULL,
	url TEXT NOT NULL,
	host TEXT NOT NULL,
	reason TEXT NOT NULL,
	detail TEXT NOT NULL,
	depth INTEGER NOT NULL,
	parent BIGINT,
	dropped_at DOUBLE NOT NULL,
	PRIMARY KEY (job, fingerprint)
);
CREATE TABLE proxy_lists (
	name TEXT NOT NULL,
	text TEXT NOT NULL,
	PRIMARY KEY (name)
);
CREATE TABLE proxy_costs (
	pool TEXT NOT NULL,
	day INTEGER NOT NULL,
	millionths BIGINT NOT NULL,
	PRIMARY KEY (pool, day)
);
CREATE TABLE proxy_figures (
	pool TEXT NOT NULL,
	proxy TEXT NOT NULL,
	host TEXT NOT NULL,
	requests BIGINT NOT NULL,
	successes BIGINT NOT NULL,
	failures BIGINT NOT NULL,
	blocks BIGINT NOT NULL,
	bytes BIGINT NOT NULL,
	cost DOUBLE NOT NULL,
	latency_0 BIGINT NOT NULL,
	latency_1 BIGINT NOT NULL,
	latency_2 BIGINT NOT NULL,
	latency_3 BIGINT NOT NULL,
	latency_4 BIGINT NOT NULL,
	latency_5 BIGINT NOT NULL,
	latency_6 BIGINT NOT NULL,
	latency_7 BIGINT NOT NULL,
	latency_8 BIGINT NOT NULL,
	in_a_row INTEGER NOT NULL,
	cool_until DOUBLE NOT NULL,
	reason TEXT NOT NULL,
	updated_at DOUBLE NOT NULL,
	PRIMARY KEY (pool, proxy, host)
);
CREATE TABLE robots (
	origin TEXT NOT NULL,
	status INTEGER,
	body BLOB NOT NULL,
	fetched_at DOUBLE,
	asked_at DOUBLE,
	PRIMARY KEY (origin)
);
CREATE TABLE cookies (
	job TEXT NOT NULL,
	session TEXT NOT NULL,
	domain TEXT NOT NULL,
	path TEXT NOT NULL,
	name TEXT NOT NULL,
	line TEXT NOT NULL,
	PRIMARY KEY (job, session, domain, path, name)
);
CREATE TABLE offers (
	id INTEGER NOT NULL,
	job TEXT NOT NULL,
	packed BLOB NOT NULL,
	PRIMARY KEY (id)
);
CREATE TABLE waiting (
	id INTEGER NOT NULL,
	job TEXT NOT NULL,
	offer TEXT NOT NULL,
	PRIMARY KEY (id)
);
CREATE TABLE scrapy_packages (
	digest TEXT NOT NULL,
	content BLOB NOT NULL,
	unused_since DOUBLE,
	PRIMARY KEY (digest)
);
CREATE TABLE scrapy_versions (
	project TEXT NOT NULL,
	version TEXT NOT NULL,
	package TEXT NOT NULL,
	spiders TEXT NOT NULL,
	added_at DOUBLE NOT NULL,
	PRIMARY KEY (project, version)
);
CREATE TABLE scrapyd_jobs (
	job TEXT NOT NULL,
	project TEXT NOT NULL,
	jobid TEXT NOT NULL,
	PRIMARY KEY (job)
);
CREATE TABLE sinks (
	job TEXT NOT NULL,
	place INTEGER NOT NULL,
	cursor TEXT NOT NULL,
	planned TEXT,
	batch BIGINT NOT NULL,
	delivered BIGINT NOT NULL,
	delivered_at DOUBLE,
	fault TEXT,
	stuck BOOLEAN NOT NULL,
	holder TEXT,
	held_until DOUBLE,
	PRIMARY KEY (job, place)
);
CREATE TABLE refused (
	job TEXT NOT NULL,
	sink INTEGER NOT NULL,
	type TEXT NOT NULL,
	id TEXT NOT NULL,
	page BIGINT NOT NULL,
	data TEXT NOT NULL,
	reason TEXT NOT NULL,
	at DOUBLE NOT NULL,
	again BOOLEAN NOT NULL,
	PRIMARY KEY (job, sink, type, id)
);
CREATE INDEX answers_by_time ON answers (claimed_at);
CREATE INDEX changes_by_part ON changes (job, part, id);
CREATE INDEX deliveries_by_job ON deliveries (job, at);
CREATE INDEX deliveries_by_time ON deliveries (due_at);
CREATE INDEX inputs_by_fingerprint ON inputs (job, fingerprint);
CREATE UNIQUE INDEX items_by_key ON items (job, type, key) WHERE key IS NOT NULL;
CREATE INDEX jobs_by_time ON jobs (created_at, id);
CREATE INDEX offers_by_job ON offers (job, id);
CREATE INDEX pages_by_time ON pages (job, fetched_at);
CREATE INDEX pages_that_are_assets ON pages (job) WHERE is_asset = 1;
CREATE INDEX runs_by_state ON runs (state);
CREATE UNIQUE INDEX schedules_by_name ON schedules (coalesce(owner, ''), name);
CREATE INDEX scrapy_versions_by_package ON scrapy_versions (package);
CREATE INDEX scrapyd_jobs_by_jobid ON scrapyd_jobs (jobid);
CREATE INDEX scrapyd_jobs_by_project ON scrapyd_jobs (project);
CREATE INDEX segments_by_state ON segments (state, process);
CREATE INDEX stored_files_by_path ON stored_files (path);
CREATE INDEX waiting_by_job ON waiting (job, id);
