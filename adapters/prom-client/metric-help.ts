/**
 * What each metric that is read at a scrape tells. docs/metrics.md says more. `<name>_max` is the bound of one that is
 * held.
 */
export const METRIC_HELP = {
  auth_tls_certificate_expires_at_seconds: 'When the certificate of the public port expires, in seconds since 1970.',
  auth_tls_handshakes_failed_total: 'TLS handshakes that failed.',
  auth_used_assertions: 'Used assertions of clients that are kept, so that none is used again.',
  auth_issuer_key_sets: 'Key sets of trusted issuers: current, stale (the last attempt to fetch it failed), or absent.',
  auth_refusal_records: 'Refused requests that can be looked up.',
  auth_refused_clients: 'Registered clients whose last refusals are kept.',
  auth_revoked_tokens: 'Revoked tokens that have not ended, as this process has counted last.',
  auth_introspection_callers: 'Clients whose budgets of introspections are kept.',
  auth_admin_api_callers: 'Clients whose budgets of requests to manage clients are kept.',
  auth_last_used_clients: 'Clients whose last use is to be recorded.',
  auth_status_minutes: 'Minutes in the history of the status page.',
  auth_ready: '1 where /readyz answers 200, else 0.',
  auth_check_severity: 'Checks of /readyz: 0 ready, 1 ready with a note, 2 not ready.',
  auth_host_cores: 'Cores that the service can use.',
  auth_host_memory_bytes: 'Bytes of memory that the container may use, or that the machine has.',
  auth_secret_verifications_running: 'BCrypt verifications that run now.',
  auth_secret_verifications_unanswered: 'Requests that wait for a verification or for the time of its response.',
  auth_secret_verifications_waiting:
    'BCrypt verifications that wait: in the FIFO queue, or in the overflow queue that is used when the FIFO queue is full.',
  auth_secret_verifications_waiting_max:
    'The bound of auth_secret_verifications_waiting. The FIFO queue is bounded by the work in it.',
  auth_secret_verification_shares: 'Clients and addresses whose share of the overflow queue is kept.',
  auth_refusal_cost: 'The highest BCrypt cost of a refusal of invalid_client.',
  auth_failed_attempt_counts: 'Pairs of client id and address whose failed attempts are counted.',
  auth_signatures_in_progress: 'Signatures by RSA that wait for a thread, or that one makes.',
  auth_clock_offset_seconds: 'Seconds by which the clock of this machine is ahead of that of the key directory.',
  auth_clock_offset_seconds_max: 'Beyond this clock offset, in seconds, no key may sign.',
  auth_trusted_keys: 'Public keys that tokens are verified with.',
  auth_signing_key_age_seconds: 'Seconds since the key began to sign.',
  auth_signing_keys_end_seconds: 'Seconds until no key may sign any more, if the key directory does not answer.',
  auth_signing_key_rotation_seconds: 'Seconds until the next key signs.',
  auth_key_directory_age_seconds: 'Seconds since the key directory was read.',
  auth_assertion_keys: 'Public keys that have verified an assertion and are kept ready for the next one.',
  auth_assertion_verifications_unanswered:
    'Requests that wait for the verification of an assertion or for the time of its response.',
  auth_assertion_verifications_overflow:
    'Requests that wait in the overflow queue of assertions, which is used when the FIFO queue is full.',
  auth_assertion_verification_shares: 'Clients and addresses whose share of the overflow queue of assertions is kept.',
  auth_audit_lines_lost_total: 'Audit events that were lost because they could not be written, or not fast enough.',
  auth_audit_buffered_bytes: 'Bytes of audit events that wait to be written to AUDIT_FILE.',
  auth_event_loop_delay_seconds:
    'Seconds by which timers came late since the last scrape: median, 99th percentile and (1) maximum.',
  auth_process_resident_memory_bytes: 'Bytes of memory that the process holds.',
  auth_process_cpu_seconds_total: 'Seconds of a core that the process used, all of its threads together.',
  auth_process_start_time_seconds: 'When the process started, in seconds since 1970.',
  auth_process_open_fds: 'Open file descriptors, most of which are connections. On Linux only.',
  auth_log_lines_lost_total:
    'Log lines that were lost because standard output could not be written, or not fast enough.',
  auth_log_buffered_bytes: 'Bytes of log lines that wait to be written.',
  auth_verified_secrets: 'Secrets of clients that are cached as verified.',
  auth_verified_secret_lookups_total: 'Presented secrets that were looked up in the cache of verified secrets.',
  auth_verified_secret_hits_total:
    'Presented secrets that were found in the cache of verified secrets, and needed no verification.',
  auth_http_connections: 'Open connections to the public port.',
  auth_http_requests_in_progress: 'Requests that are being answered.',
  auth_http_rejections_delayed: 'Requests whose refusal is delayed.',
  auth_http_responses_waiting: 'Responses that wait for the next pass of the event loop.',
  auth_http_connections_dropped_total: 'Connections that were closed because there were too many, idle ones first.',
  auth_database_connections: 'Open connections to the database.',
  auth_database_connections_max: 'The bound of auth_database_connections.',
  auth_database_connections_idle: 'Open connections to the database that no statement uses.',
  auth_database_statements_waiting: 'Statements that wait for a connection.',
};

export type MetricName = keyof typeof METRIC_HELP;
