BEGIN TRANSACTION;
CREATE TABLE environments (
	id INTEGER NOT NULL, 
	hash VARCHAR(64) NOT NULL, 
	facts JSON NOT NULL, 
	CONSTRAINT pk_environments PRIMARY KEY (id), 
	CONSTRAINT uq_environments_hash UNIQUE (hash)
);
INSERT INTO "environments" VALUES(1,'0000000000000000000000000000000000000000000000000000000000000001','{"host": "laptop", "versions": {"torch": "2.9.0"}}');
INSERT INTO "environments" VALUES(2,'0000000000000000000000000000000000000000000000000000000000000002','{"host": "server", "versions": {"torch": "2.9.0"}}');
CREATE TABLE metrics (
	id INTEGER NOT NULL, 
	run_id VARCHAR(8) NOT NULL, 
	epoch INTEGER, 
	step INTEGER, 
	split VARCHAR(20) NOT NULL, 
	condition VARCHAR(200) NOT NULL, 
	name VARCHAR(200) NOT NULL, 
	value DOUBLE, 
	unit VARCHAR(20) NOT NULL, 
	recorded_at DATETIME NOT NULL, 
	CONSTRAINT pk_metrics PRIMARY KEY (id), 
	CONSTRAINT fk_metrics_run_id FOREIGN KEY(run_id) REFERENCES runs (id) ON DELETE CASCADE
);
INSERT INTO "metrics" VALUES(1,'0a000001',1,3,'train','','loss',1.0,'','2026-01-31 12:00:00.000000');
INSERT INTO "metrics" VALUES(2,'0a000001',1,3,'test','','accuracy',0.47,'fraction','2026-01-31 12:00:00.000000');
INSERT INTO "metrics" VALUES(3,'0a000001',1,3,'test','gaussian','accuracy',0.25,'fraction','2026-01-31 12:00:00.000000');
INSERT INTO "metrics" VALUES(4,'0a000001',1,3,'','','step_time_ms',12.5,'ms','2026-01-31 12:00:00.000000');
INSERT INTO "metrics" VALUES(5,'0a000001',2,6,'train','','loss',0.5,'','2026-01-31 12:00:00.000000');
INSERT INTO "metrics" VALUES(6,'0a000001',2,6,'test','','accuracy',0.97,'fraction','2026-01-31 12:00:00.000000');
INSERT INTO "metrics" VALUES(7,'0a000001',2,6,'test','gaussian','accuracy',0.5,'fraction','2026-01-31 12:00:00.000000');
INSERT INTO "metrics" VALUES(8,'0a000001',2,6,'','','step_time_ms',12.5,'ms','2026-01-31 12:00:00.000000');
INSERT INTO "metrics" VALUES(9,'0a000001',NULL,6,'test','bim:eps=0.03','accuracy',0.125,'fraction','2026-01-31 12:00:00.000000');
INSERT INTO "metrics" VALUES(10,'0a000003',1,3,'train','','loss',NULL,'','2026-01-31 12:00:00.000000');
INSERT INTO "metrics" VALUES(11,'0a000003',1,3,'','','gradient_norm',9e999,'','2026-01-31 12:00:00.000000');
INSERT INTO "metrics" VALUES(12,'0a000003',1,3,'','','lowest',-9e999,'','2026-01-31 12:00:00.000000');
INSERT INTO "metrics" VALUES(13,'0b000001',NULL,NULL,'','8x16','step_time_ms',1.5,'ms','2026-01-31 12:00:00.000000');
CREATE TABLE night_decisions (
	id INTEGER NOT NULL, 
	kind VARCHAR(20) NOT NULL, 
	suite VARCHAR(500) NOT NULL, 
	measurement VARCHAR(700) NOT NULL, 
	environment_class VARCHAR(64) NOT NULL, 
	until VARCHAR(10) NOT NULL, 
	reason TEXT NOT NULL, 
	author VARCHAR(255) NOT NULL, 
	host VARCHAR(255) NOT NULL, 
	made_at DATETIME NOT NULL, 
	CONSTRAINT pk_night_decisions PRIMARY KEY (id)
);
INSERT INTO "night_decisions" VALUES(1,'accept','canary','popnorm 8x16 step_time_ms','0000000000000001','','it''s slower, and right','somebody','laptop','2026-01-31 12:00:00.000000');
INSERT INTO "night_decisions" VALUES(2,'mute','canary','popnorm 8x16 step_time_ms','','2026-02-28','it''s slower, and right','somebody','laptop','2026-01-31 12:00:00.000000');
CREATE TABLE night_values (
	id INTEGER NOT NULL, 
	night_id VARCHAR(8) NOT NULL, 
	run_id VARCHAR(8), 
	cell VARCHAR(500) NOT NULL, 
	metric VARCHAR(200) NOT NULL, 
	repeat INTEGER NOT NULL, 
	value DOUBLE, 
	unit VARCHAR(20) NOT NULL, 
	environment_class VARCHAR(64) NOT NULL, 
	recorded_at DATETIME NOT NULL, 
	CONSTRAINT pk_night_values PRIMARY KEY (id), 
	CONSTRAINT fk_night_values_night_id FOREIGN KEY(night_id) REFERENCES nights (id) ON DELETE CASCADE, 
	CONSTRAINT fk_night_values_run_id FOREIGN KEY(run_id) REFERENCES runs (id) ON DELETE SET NULL
);
INSERT INTO "night_values" VALUES(1,'0c000000','0b000001','popnorm 8x16','step_time_ms',0,1.5,'ms','0000000000000001','2026-01-31 12:00:00.000000');
INSERT INTO "night_values" VALUES(2,'0c000000','0b000001','popnorm 8x16','step_time_ms',1,NULL,'ms','0000000000000001','2026-01-31 12:00:00.000000');
INSERT INTO "night_values" VALUES(3,'0c000000','0b000001','popnorm 8x16','step_time_ms',2,9e999,'ms','0000000000000001','2026-01-31 12:00:00.000000');
INSERT INTO "night_values" VALUES(4,'0c000000',NULL,'augnorm 8x16','step_time_ms',0,1.5,'ms','0000000000000001','2026-01-31 12:00:00.000000');
INSERT INTO "night_values" VALUES(5,'0c000000',NULL,'augnorm 8x16','step_time_ms',1,NULL,'ms','0000000000000001','2026-01-31 12:00:00.000000');
INSERT INTO "night_values" VALUES(6,'0c000000',NULL,'augnorm 8x16','step_time_ms',2,9e999,'ms','0000000000000001','2026-01-31 12:00:00.000000');
INSERT INTO "night_values" VALUES(7,'0c000001','0b000001','popnorm 8x16','step_time_ms',0,1.5,'ms','0000000000000001','2026-01-31 12:00:00.000000');
INSERT INTO "night_values" VALUES(8,'0c000001','0b000001','popnorm 8x16','step_time_ms',1,NULL,'ms','0000000000000001','2026-01-31 12:00:00.000000');
INSERT INTO "night_values" VALUES(9,'0c000001','0b000001','popnorm 8x16','step_time_ms',2,9e999,'ms','0000000000000001','2026-01-31 12:00:00.000000');
INSERT INTO "night_values" VALUES(10,'0c000001',NULL,'augnorm 8x16','step_time_ms',0,1.5,'ms','0000000000000001','2026-01-31 12:00:00.000000');
INSERT INTO "night_values" VALUES(11,'0c000001',NULL,'augnorm 8x16','step_time_ms',1,NULL,'ms','0000000000000001','2026-01-31 12:00:00.000000');
INSERT INTO "night_values" VALUES(12,'0c000001',NULL,'augnorm 8x16','step_time_ms',2,9e999,'ms','0000000000000001','2026-01-31 12:00:00.000000');
INSERT INTO "night_values" VALUES(13,'0c000002','0b000001','popnorm 8x16','step_time_ms',0,1.5,'ms','0000000000000001','2026-01-31 12:00:00.000000');
INSERT INTO "night_values" VALUES(14,'0c000002','0b000001','popnorm 8x16','step_time_ms',1,NULL,'ms','0000000000000001','2026-01-31 12:00:00.000000');
INSERT INTO "night_values" VALUES(15,'0c000002','0b000001','popnorm 8x16','step_time_ms',2,9e999,'ms','0000000000000001','2026-01-31 12:00:00.000000');
INSERT INTO "night_values" VALUES(16,'0c000002',NULL,'augnorm 8x16','step_time_ms',0,1.5,'ms','0000000000000001','2026-01-31 12:00:00.000000');
INSERT INTO "night_values" VALUES(17,'0c000002',NULL,'augnorm 8x16','step_time_ms',1,NULL,'ms','0000000000000001','2026-01-31 12:00:00.000000');
INSERT INTO "night_values" VALUES(18,'0c000002',NULL,'augnorm 8x16','step_time_ms',2,9e999,'ms','0000000000000001','2026-01-31 12:00:00.000000');
INSERT INTO "night_values" VALUES(19,'0c000003','0b000001','popnorm 8x16','step_time_ms',0,1.5,'ms','0000000000000001','2026-01-31 12:00:00.000000');
INSERT INTO "night_values" VALUES(20,'0c000003','0b000001','popnorm 8x16','step_time_ms',1,NULL,'ms','0000000000000001','2026-01-31 12:00:00.000000');
INSERT INTO "night_values" VALUES(21,'0c000003','0b000001','popnorm 8x16','step_time_ms',2,9e999,'ms','0000000000000001','2026-01-31 12:00:00.000000');
INSERT INTO "night_values" VALUES(22,'0c000003',NULL,'augnorm 8x16','step_time_ms',0,1.5,'ms','0000000000000001','2026-01-31 12:00:00.000000');
INSERT INTO "night_values" VALUES(23,'0c000003',NULL,'augnorm 8x16','step_time_ms',1,NULL,'ms','0000000000000001','2026-01-31 12:00:00.000000');
INSERT INTO "night_values" VALUES(24,'0c000003',NULL,'augnorm 8x16','step_time_ms',2,9e999,'ms','0000000000000001','2026-01-31 12:00:00.000000');
CREATE TABLE nights (
	id VARCHAR(8) NOT NULL, 
	suite VARCHAR(500) NOT NULL, 
	day VARCHAR(10) NOT NULL, 
	state VARCHAR(20) NOT NULL, 
	message TEXT NOT NULL, 
	revision VARCHAR(64) NOT NULL, 
	verdict JSON NOT NULL, 
	started_at DATETIME NOT NULL, 
	heartbeat_at DATETIME NOT NULL, 
	finished_at DATETIME, 
	host VARCHAR(255) NOT NULL, 
	pid INTEGER NOT NULL, 
	process_started DOUBLE NOT NULL, 
	environment_id INTEGER NOT NULL, 
	CONSTRAINT pk_nights PRIMARY KEY (id), 
	CONSTRAINT fk_nights_environment_id FOREIGN KEY(environment_id) REFERENCES environments (id)
);
INSERT INTO "nights" VALUES('0c000000','canary','2026-01-28','running','','0000000000000000000000000000000000000000','{}','2026-01-31 12:00:00.000000','2026-01-31 12:05:00.000000',NULL,'laptop',4242,1769860000.5,1);
INSERT INTO "nights" VALUES('0c000001','canary','2026-01-29','finished','','0000000000000000000000000000000000000001','{"verdict": "fine"}','2026-02-01 12:00:00.000000','2026-02-01 12:05:00.000000','2026-02-01 12:05:00.000000','laptop',4242,1769860000.5,1);
INSERT INTO "nights" VALUES('0c000002','canary','2026-01-30','incomplete','','0000000000000000000000000000000000000002','{}','2026-02-02 12:00:00.000000','2026-02-02 12:05:00.000000',NULL,'laptop',4242,1769860000.5,1);
INSERT INTO "nights" VALUES('0c000003','canary','2026-01-31','killed','','0000000000000000000000000000000000000003','{}','2026-02-03 12:00:00.000000','2026-02-03 12:05:00.000000',NULL,'laptop',4242,1769860000.5,1);
CREATE TABLE normbench_schema_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT normbench_schema_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "normbench_schema_version" VALUES('0004');
CREATE TABLE runs (
	id VARCHAR(8) NOT NULL, 
	kind VARCHAR(20) NOT NULL, 
	fingerprint VARCHAR(64) NOT NULL, 
	state VARCHAR(20) NOT NULL, 
	message TEXT NOT NULL, 
	norm VARCHAR(500) NOT NULL, 
	act VARCHAR(500) NOT NULL, 
	model VARCHAR(500) NOT NULL, 
	data VARCHAR(500) NOT NULL, 
	objective VARCHAR(500) NOT NULL, 
	seed INTEGER, 
	config JSON NOT NULL, 
	tag VARCHAR(200) NOT NULL, 
	note TEXT NOT NULL, 
	argv JSON NOT NULL, 
	started_at DATETIME NOT NULL, 
	heartbeat_at DATETIME NOT NULL, 
	finished_at DATETIME, 
	host VARCHAR(255) NOT NULL, 
	pid INTEGER NOT NULL, 
	process_started DOUBLE NOT NULL, 
	environment_id INTEGER NOT NULL, details JSON, 
	CONSTRAINT pk_runs PRIMARY KEY (id), 
	CONSTRAINT fk_runs_environment_id FOREIGN KEY(environment_id) REFERENCES environments (id)
);
INSERT INTO "runs" VALUES('0a000000','train','0000000000000000','running','','popnorm:kappa=4','sigmoid','resnet20','digits','erm',0,'{"norm": "popnorm:kappa=4", "act": "sigmoid", "model": "resnet20", "data": "digits", "objective": "erm", "seed": 0, "tag": "old", "note": "it''s a \"note\",\nin two lines: 1 \u00b1 2", "epochs": 2, "iterations": null, "batch_size": 64, "lr": 0.1}','old','it''s a "note",
in two lines: 1 ± 2','["train", "--norm", "popnorm:kappa=4"]','2026-01-31 12:00:00.000000','2026-01-31 13:00:00.000000',NULL,'laptop',4242,1769860000.5,1,'{}');
INSERT INTO "runs" VALUES('0a000001','train','0000000000000001','finished','','popnorm:kappa=4','sigmoid','resnet20','digits','erm',1,'{"norm": "popnorm:kappa=4", "act": "sigmoid", "model": "resnet20", "data": "digits", "objective": "erm", "seed": 1, "tag": "old", "note": "it''s a \"note\",\nin two lines: 1 \u00b1 2", "epochs": 2, "iterations": null, "batch_size": 64, "lr": 0.1}','old','it''s a "note",
in two lines: 1 ± 2','["train", "--norm", "popnorm:kappa=4"]','2026-01-31 12:01:00.000000','2026-01-31 13:00:00.000000','2026-01-31 13:00:00.000000','laptop',4242,1769860000.5,2,'{"data": {"name": "digits", "classes": 10, "splits": {"train": 1500, "test": 297}}, "remarks": ["1 \u00b1 2"]}');
INSERT INTO "runs" VALUES('0a000002','train','0000000000000002','failed','the run is failed','popnorm:kappa=4','sigmoid','resnet20','digits','erm',2,'{"norm": "popnorm:kappa=4", "act": "sigmoid", "model": "resnet20", "data": "digits", "objective": "erm", "seed": 2, "tag": "old", "note": "it''s a \"note\",\nin two lines: 1 \u00b1 2", "epochs": 2, "iterations": null, "batch_size": 64, "lr": 0.1}','old','it''s a "note",
in two lines: 1 ± 2','["train", "--norm", "popnorm:kappa=4"]','2026-01-31 12:02:00.000000','2026-01-31 13:00:00.000000','2026-01-31 13:00:00.000000','laptop',4242,1769860000.5,1,'{}');
INSERT INTO "runs" VALUES('0a000003','train','0000000000000003','diverged','the run is diverged','popnorm:kappa=4','sigmoid','resnet20','digits','erm',3,'{"norm": "popnorm:kappa=4", "act": "sigmoid", "model": "resnet20", "data": "digits", "objective": "erm", "seed": 3, "tag": "old", "note": "it''s a \"note\",\nin two lines: 1 \u00b1 2", "epochs": 2, "iterations": null, "batch_size": 64, "lr": 0.1}','old','it''s a "note",
in two lines: 1 ± 2','["train", "--norm", "popnorm:kappa=4"]','2026-01-31 12:03:00.000000','2026-01-31 13:00:00.000000','2026-01-31 13:00:00.000000','laptop',4242,1769860000.5,2,'{}');
INSERT INTO "runs" VALUES('0a000004','train','0000000000000004','interrupted','the run is interrupted','popnorm:kappa=4','sigmoid','resnet20','digits','erm',4,'{"norm": "popnorm:kappa=4", "act": "sigmoid", "model": "resnet20", "data": "digits", "objective": "erm", "seed": 4, "tag": "old", "note": "it''s a \"note\",\nin two lines: 1 \u00b1 2", "epochs": 2, "iterations": null, "batch_size": 64, "lr": 0.1}','old','it''s a "note",
in two lines: 1 ± 2','["train", "--norm", "popnorm:kappa=4"]','2026-01-31 12:04:00.000000','2026-01-31 13:00:00.000000','2026-01-31 13:00:00.000000','laptop',4242,1769860000.5,1,'{}');
INSERT INTO "runs" VALUES('0b000000','profile','0000000000000005','running','','popnorm:kappa=4','sigmoid','resnet20','digits','erm',5,'{"norm": "popnorm:kappa=4", "act": "sigmoid", "model": "resnet20", "data": "digits", "objective": "erm", "seed": 5, "tag": "old", "note": "it''s a \"note\",\nin two lines: 1 \u00b1 2", "epochs": 2, "iterations": null, "batch_size": 64, "lr": 0.1, "shapes": [[8, 16], [2, 3, 4, 4]]}','old','it''s a "note",
in two lines: 1 ± 2','["profile", "--norm", "popnorm:kappa=4"]','2026-01-31 12:05:00.000000','2026-01-31 13:00:00.000000',NULL,'laptop',4242,1769860000.5,2,'{}');
INSERT INTO "runs" VALUES('0b000001','profile','0000000000000006','finished','','popnorm:kappa=4','sigmoid','resnet20','digits','erm',6,'{"norm": "popnorm:kappa=4", "act": "sigmoid", "model": "resnet20", "data": "digits", "objective": "erm", "seed": 6, "tag": "old", "note": "it''s a \"note\",\nin two lines: 1 \u00b1 2", "epochs": 2, "iterations": null, "batch_size": 64, "lr": 0.1, "shapes": [[8, 16], [2, 3, 4, 4]]}','old','it''s a "note",
in two lines: 1 ± 2','["profile", "--norm", "popnorm:kappa=4"]','2026-01-31 12:06:00.000000','2026-01-31 13:00:00.000000','2026-01-31 13:00:00.000000','laptop',4242,1769860000.5,1,'{"data": {"name": "digits", "classes": 10, "splits": {"train": 1500, "test": 297}}, "remarks": ["1 \u00b1 2"]}');
INSERT INTO "runs" VALUES('0b000002','profile','0000000000000007','failed','the run is failed','popnorm:kappa=4','sigmoid','resnet20','digits','erm',7,'{"norm": "popnorm:kappa=4", "act": "sigmoid", "model": "resnet20", "data": "digits", "objective": "erm", "seed": 7, "tag": "old", "note": "it''s a \"note\",\nin two lines: 1 \u00b1 2", "epochs": 2, "iterations": null, "batch_size": 64, "lr": 0.1, "shapes": [[8, 16], [2, 3, 4, 4]]}','old','it''s a "note",
in two lines: 1 ± 2','["profile", "--norm", "popnorm:kappa=4"]','2026-01-31 12:07:00.000000','2026-01-31 13:00:00.000000','2026-01-31 13:00:00.000000','laptop',4242,1769860000.5,2,'{}');
INSERT INTO "runs" VALUES('0b000003','profile','0000000000000008','diverged','the run is diverged','popnorm:kappa=4','sigmoid','resnet20','digits','erm',8,'{"norm": "popnorm:kappa=4", "act": "sigmoid", "model": "resnet20", "data": "digits", "objective": "erm", "seed": 8, "tag": "old", "note": "it''s a \"note\",\nin two lines: 1 \u00b1 2", "epochs": 2, "iterations": null, "batch_size": 64, "lr": 0.1, "shapes": [[8, 16], [2, 3, 4, 4]]}','old','it''s a "note",
in two lines: 1 ± 2','["profile", "--norm", "popnorm:kappa=4"]','2026-01-31 12:08:00.000000','2026-01-31 13:00:00.000000','2026-01-31 13:00:00.000000','laptop',4242,1769860000.5,1,'{}');
INSERT INTO "runs" VALUES('0b000004','profile','0000000000000009','interrupted','the run is interrupted','popnorm:kappa=4','sigmoid','resnet20','digits','erm',9,'{"norm": "popnorm:kappa=4", "act": "sigmoid", "model": "resnet20", "data": "digits", "objective": "erm", "seed": 9, "tag": "old", "note": "it''s a \"note\",\nin two lines: 1 \u00b1 2", "epochs": 2, "iterations": null, "batch_size": 64, "lr": 0.1, "shapes": [[8, 16], [2, 3, 4, 4]]}','old','it''s a "note",
in two lines: 1 ± 2','["profile", "--norm", "popnorm:kappa=4"]','2026-01-31 12:09:00.000000','2026-01-31 13:00:00.000000','2026-01-31 13:00:00.000000','laptop',4242,1769860000.5,2,'{}');
CREATE TABLE samples (
	id INTEGER NOT NULL, 
	run_id VARCHAR(8) NOT NULL, 
	name VARCHAR(200) NOT NULL, 
	epoch INTEGER, 
	first_step INTEGER NOT NULL, 
	count INTEGER NOT NULL, 
	data BLOB NOT NULL, thinned INTEGER, 
	CONSTRAINT pk_samples PRIMARY KEY (id), 
	CONSTRAINT fk_samples_run_id FOREIGN KEY(run_id) REFERENCES runs (id) ON DELETE CASCADE
);
INSERT INTO "samples" VALUES(1,'0a000001','step_time_ms',1,0,3,X'789C636070706460F000E200470008AB019C',NULL);
INSERT INTO "samples" VALUES(2,'0a000001','step_time_ms',2,3,3,X'789C6360307064603850CFC0E0E008000BF10232',NULL);
INSERT INTO "samples" VALUES(3,'0b000001','step_time_ms@8x16',NULL,0,3,X'789C636068B067603800C40C0E000D3E01FF',NULL);
INSERT INTO "samples" VALUES(4,'0a000002','lr',1,0,4,X'789C636060B0676068B00300028100FE',2);
CREATE INDEX ix_runs_fingerprint ON runs (fingerprint);
CREATE INDEX ix_runs_state ON runs (state);
CREATE INDEX ix_runs_tag ON runs (tag);
CREATE INDEX ix_runs_environment_id ON runs (environment_id);
CREATE INDEX ix_metrics_run_id_split_name_condition ON metrics (run_id, split, name, condition);
CREATE INDEX ix_samples_run_id_name ON samples (run_id, name);
CREATE INDEX ix_nights_suite ON nights (suite);
CREATE INDEX ix_nights_environment_id ON nights (environment_id);
CREATE INDEX ix_night_values_cell_metric ON night_values (cell, metric);
CREATE INDEX ix_night_values_night_id ON night_values (night_id);
CREATE INDEX ix_night_values_run_id ON night_values (run_id);
CREATE VIEW v_runs AS
SELECT runs.id, kind, fingerprint, state AS status, message, norm, act, model, data, objective, seed, CASE WHEN json_valid(config) THEN json_extract(config, '$.recipe') END AS recipe, CASE WHEN json_valid(config) THEN json_extract(config, '$.epochs') END AS epochs, CASE WHEN json_valid(config) THEN json_extract(config, '$.iterations') END AS iterations, CASE WHEN json_valid(config) THEN json_extract(config, '$.batch_size') END AS batch_size, CASE WHEN json_valid(config) THEN json_extract(config, '$.optimizer') END AS optimizer, CASE WHEN json_valid(config) THEN json_extract(config, '$.lr') END AS lr, CASE WHEN json_valid(config) THEN json_extract(config, '$.momentum') END AS momentum, CASE WHEN json_valid(config) THEN json_extract(config, '$.weight_decay') END AS weight_decay, CASE WHEN json_valid(config) THEN json_extract(config, '$.schedule') END AS schedule, CASE WHEN json_valid(config) THEN json_extract(config, '$.amp') END AS amp, tag, note, (SELECT value FROM metrics WHERE metrics.run_id = runs.id AND metrics.condition = '' AND metrics.split = 'train' AND metrics.name = 'loss' ORDER BY metrics.id DESC LIMIT 1) AS train_loss, (SELECT value FROM metrics WHERE metrics.run_id = runs.id AND metrics.condition = '' AND metrics.split = 'train' AND metrics.name = 'accuracy' ORDER BY metrics.id DESC LIMIT 1) AS train_accuracy, (SELECT value FROM metrics WHERE metrics.run_id = runs.id AND metrics.condition = '' AND metrics.split = 'test' AND metrics.name = 'loss' ORDER BY metrics.id DESC LIMIT 1) AS test_loss, (SELECT value FROM metrics WHERE metrics.run_id = runs.id AND metrics.condition = '' AND metrics.split = 'test' AND metrics.name = 'accuracy' ORDER BY metrics.id DESC LIMIT 1) AS test_accuracy, (SELECT value FROM metrics WHERE metrics.run_id = runs.id AND metrics.condition = '' AND metrics.split = 'test' AND metrics.name = 'worst_group_accuracy' ORDER BY metrics.id DESC LIMIT 1) AS test_worst_group_accuracy, (SELECT value FROM metrics WHERE metrics.run_id = runs.id AND metrics.condition = '' AND metrics.split = '' AND metrics.name = 'step_time_ms' ORDER BY metrics.id DESC LIMIT 1) AS step_time_ms, (SELECT value FROM metrics WHERE metrics.run_id = runs.id AND metrics.condition = '' AND metrics.split = '' AND metrics.name = 'samples_per_s' ORDER BY metrics.id DESC LIMIT 1) AS samples_per_s, (SELECT value FROM metrics WHERE metrics.run_id = runs.id AND metrics.condition = '' AND metrics.split = '' AND metrics.name = 'peak_memory_bytes' ORDER BY metrics.id DESC LIMIT 1) AS peak_memory_bytes, started_at, finished_at, host, environments.hash AS environment
FROM runs JOIN environments ON environments.id = runs.environment_id;
CREATE VIEW v_latest_metrics AS
SELECT run_id, CASE WHEN split = '' THEN '' ELSE split || '/' END || name ||
    CASE WHEN condition = '' THEN '' ELSE '@' || condition END AS metric, split, name, condition,
    epoch, step, value, unit, recorded_at
FROM metrics WHERE id IN (SELECT max(id) FROM metrics GROUP BY run_id, split, name, condition);
CREATE VIEW v_curves AS
SELECT run_id, CASE WHEN split = '' THEN '' ELSE split || '/' END || name ||
    CASE WHEN condition = '' THEN '' ELSE '@' || condition END AS metric, split, name, condition,
    epoch, step, value, unit, recorded_at FROM (SELECT metrics.*,
    row_number() OVER (PARTITION BY run_id, split, name, condition, epoch ORDER BY id DESC) AS newest
    FROM metrics WHERE epoch IS NOT NULL) AS ordered
WHERE newest = 1;
CREATE VIEW v_nights AS
SELECT nights.id AS night_id, day, suite, nights.state AS status, revision, cell, metric, repeat, value,
    unit, environment_class, run_id, nights.started_at, nights.finished_at, nights.host
FROM nights LEFT JOIN night_values ON night_values.night_id = nights.id;
COMMIT;
