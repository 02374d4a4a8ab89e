BEGIN TRANSACTION;
CREATE TABLE environments (
	id INTEGER NOT NULL, 
	hash VARCHAR(64) NOT NULL, 
	facts JSON NOT NULL, 
	CONSTRAINT pk_environments PRIMARY KEY (id), 
	CONSTRAINT uq_environments_hash UNIQUE (hash)
);
INSERT INTO "environments" VALUES(1,'eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee','{"host": "laptop", "versions": {"torch": "2.9.0"}}');
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
INSERT INTO "metrics" VALUES(1,'0a1b2c3d',1,23,'train','','loss',1.0,'','2026-01-31 12:00:00.000000');
INSERT INTO "metrics" VALUES(2,'0a1b2c3d',1,23,'test','','accuracy',0.47,'fraction','2026-01-31 12:00:00.000000');
INSERT INTO "metrics" VALUES(3,'0a1b2c3d',1,23,'test','gaussian','accuracy',0.25,'fraction','2026-01-31 12:00:00.000000');
INSERT INTO "metrics" VALUES(4,'0a1b2c3d',1,23,'','','step_time_ms',12.5,'ms','2026-01-31 12:00:00.000000');
INSERT INTO "metrics" VALUES(5,'0a1b2c3d',2,46,'train','','loss',0.5,'','2026-01-31 12:00:00.000000');
INSERT INTO "metrics" VALUES(6,'0a1b2c3d',2,46,'test','','accuracy',0.97,'fraction','2026-01-31 12:00:00.000000');
INSERT INTO "metrics" VALUES(7,'0a1b2c3d',2,46,'test','gaussian','accuracy',0.5,'fraction','2026-01-31 12:00:00.000000');
INSERT INTO "metrics" VALUES(8,'0a1b2c3d',2,46,'','','step_time_ms',12.5,'ms','2026-01-31 12:00:00.000000');
INSERT INTO "metrics" VALUES(9,'0a9f8e7d',1,23,'train','','loss',NULL,'','2026-01-31 12:00:00.000000');
CREATE TABLE normbench_schema_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT normbench_schema_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "normbench_schema_version" VALUES('0001');
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
	environment_id INTEGER NOT NULL, 
	CONSTRAINT pk_runs PRIMARY KEY (id), 
	CONSTRAINT fk_runs_environment_id FOREIGN KEY(environment_id) REFERENCES environments (id)
);
INSERT INTO "runs" VALUES('0a1b2c3d','train','0123456789abcdef','finished','','popnorm:kappa=4','sigmoid','resnet20','digits','erm',1,'{"norm": "popnorm:kappa=4", "act": "sigmoid", "model": "resnet20", "data": "digits", "objective": "erm", "epochs": 2, "iterations": null, "batch_size": 64, "seed": 1, "lr": 0.1, "tag": "old", "note": "a note"}','old','a note','["train", "--norm", "popnorm:kappa=4"]','2026-01-31 12:00:00.000000','2026-01-31 12:00:00.000000','2026-01-31 12:00:00.000000','laptop',4242,1769860000.5,1);
INSERT INTO "runs" VALUES('0a9f8e7d','train','fedcba9876543210','diverged','the loss was not finite at step 3','popnorm:kappa=4','sigmoid','resnet20','digits','erm',2,'{"norm": "popnorm:kappa=4", "act": "sigmoid", "model": "resnet20", "data": "digits", "objective": "erm", "epochs": 2, "iterations": null, "batch_size": 64, "seed": 1, "lr": 0.1, "tag": "old", "note": "a note"}','old','a note','["train", "--norm", "popnorm:kappa=4"]','2026-01-31 12:00:00.000000','2026-01-31 12:00:00.000000','2026-01-31 12:00:00.000000','laptop',4242,1769860000.5,1);
CREATE TABLE samples (
	id INTEGER NOT NULL, 
	run_id VARCHAR(8) NOT NULL, 
	name VARCHAR(200) NOT NULL, 
	epoch INTEGER, 
	first_step INTEGER NOT NULL, 
	count INTEGER NOT NULL, 
	data BLOB NOT NULL, 
	CONSTRAINT pk_samples PRIMARY KEY (id), 
	CONSTRAINT fk_samples_run_id FOREIGN KEY(run_id) REFERENCES runs (id) ON DELETE CASCADE
);
INSERT INTO "samples" VALUES(1,'0a1b2c3d','step_time_ms',1,0,3,X'789C636070706460F000E200470008AB019C');
CREATE INDEX ix_runs_fingerprint ON runs (fingerprint);
CREATE INDEX ix_runs_state ON runs (state);
CREATE INDEX ix_runs_tag ON runs (tag);
CREATE INDEX ix_runs_environment_id ON runs (environment_id);
CREATE INDEX ix_metrics_run_id_split_name_condition ON metrics (run_id, split, name, condition);
CREATE INDEX ix_samples_run_id_name ON samples (run_id, name);
COMMIT;
