/** Two services, of which only one has the problem. */
interface AlertCase {
  /** The time between two values, and between two evaluations: one minute by default. */
  readonly interval?: string;
  /** Series and values, in promtool's notation. */
  readonly series: Readonly<Record<string, string>>;
  /** A time at which the alert fires, and one at which it does not yet. */
  readonly firesAt: string;
  readonly notYetAt?: string;
  /** How many alerts fire; more than one where an alert has several reasons. */
  readonly alerts?: number;
}

/** The same value all the time. */
const always = (value: number) => `${value}x120`;
/** A total that grows by so much each time. */
const grows = (perMinute: number) => `0+${perMinute}x120`;

/** `bad` and `good` are the jobs of two services, which are alike in everything else. */
function both(name: string, bad: string, good: string, labels = ''): Record<string, string> {
  const of = (job: string) => `${name}{job="${job}",instance="a:1"${labels && `,${labels}`}}`;
  return { [of('bad')]: bad, [of('good')]: good };
}

/** A value near its bound in the bad service, and far from it in the good one. */
function nearBound(name: string, labels = ''): Record<string, string> {
  return { ...both(name, always(96), always(50), labels), ...both(`${name}_max`, always(100), always(100), labels) };
}

const TOKEN = 'route="/oauth2/token",method="POST"';

/** A histogram in which every observation falls into the bucket with this bound. */
function observed(name: string, labels: string, bad: number, good: number): Record<string, string> {
  const bounds = [0.001, 0.01, 0.1, 0.25, 0.5, 1, 2.5, 5];
  const bucket = (le: string, at: number) => grows(le === '+Inf' || Number(le) >= at ? 60 : 0);
  return Object.assign(
    {},
    ...[...bounds.map(String), '+Inf'].map((le) =>
      both(name, bucket(le, bad), bucket(le, good), `${labels},le="${le}"`),
    ),
  );
}

/** For each alert, what makes it fire. */
export const ALERT_CASES: Readonly<Record<string, AlertCase>> = {
  AuthTlsCertificateExpires: {
    // The times of promtool begin at 0.
    series: both('auth_tls_certificate_expires_at_seconds', always(13 * 86_400), always(15 * 86_400)),
    firesAt: '65m',
    notYetAt: '55m',
  },
  AuthNotReady: {
    series: both('auth_ready', always(0), always(1)),
    firesAt: '2m',
    notYetAt: '0m',
  },
  AuthReplicaUnavailable: { series: both('auth_ready', always(0), always(1)), firesAt: '6m', notYetAt: '4m' },
  AuthRestarts: {
    series: both('auth_process_start_time_seconds', '0x10 600x10 1200x10 1800x90', '0x10 600x110'),
    firesAt: '40m',
    notYetAt: '30m',
  },
  AuthServerErrors: {
    series: {
      ...both('auth_requests_total', grows(100), grows(100), `${TOKEN},status="200",reason="none"`),
      ...both('auth_requests_total', grows(2), grows(0), `${TOKEN},status="503",reason="dependency_unavailable"`),
      // A flood of guesses hides nothing, and fires nothing.
      ...both('auth_requests_total', grows(900), grows(900), `${TOKEN},status="503",reason="slots_exhausted"`),
      ...both('auth_requests_total', grows(9_000), grows(9_000), `${TOKEN},status="401",reason="secret_wrong"`),
    },
    firesAt: '8m',
    notYetAt: '1m',
  },
  AuthNoTokens: {
    series: {
      ...both('auth_requests_total', '0+60x30 1800x90', grows(60), `${TOKEN},status="200",reason="none"`),
      ...both('auth_requests_total', grows(60), grows(60), `${TOKEN},status="401",reason="secret_wrong"`),
    },
    firesAt: '55m',
    notYetAt: '40m',
  },
  AuthSlowTokens: {
    series: observed('auth_request_duration_seconds_bucket', 'route="/oauth2/token",status_class="2xx"', 1, 0.01),
    firesAt: '10m',
    notYetAt: '4m',
  },
  AuthManyRefusals: {
    series: both('auth_requests_total', grows(1_500), grows(60), `${TOKEN},status="401",reason="client_unknown"`),
    firesAt: '15m',
    notYetAt: '9m',
  },
  AuthOverloaded: {
    series: both(
      'auth_requests_total',
      grows(5),
      always(5),
      'route="none",method="POST",status="503",reason="overloaded"',
    ),
    firesAt: '8m',
    notYetAt: '4m',
  },
  AuthVerificationsWait: {
    series: both('auth_secret_verifications_waiting', always(3), always(0), 'queue="overflow"'),
    firesAt: '6m',
    notYetAt: '4m',
  },
  AuthVerificationQueueFull: {
    series: {
      ...nearBound('auth_secret_verifications_waiting', 'queue="paced"'),
      ...nearBound('auth_secret_verifications_unanswered'),
      ...nearBound('auth_assertion_verifications_unanswered'),
    },
    firesAt: '3m',
    notYetAt: '1m',
    alerts: 2,
  },
  AuthCacheFull: {
    series: {
      ...both('auth_verified_secrets', always(100_000), always(90_000)),
      ...both('auth_verified_secrets_max', always(100_000), always(100_000)),
    },
    firesAt: '11m',
    notYetAt: '9m',
  },
  AuthConnectionsDropped: {
    series: both('auth_http_connections_dropped_total', grows(1), always(7)),
    firesAt: '4m',
    notYetAt: '1m',
  },
  AuthOpenFilesHigh: {
    series: nearBound('auth_process_open_fds'),
    firesAt: '6m',
    notYetAt: '4m',
  },
  AuthFlood: { series: nearBound('auth_http_rejections_delayed'), firesAt: '6m', notYetAt: '4m' },
  AuthEventLoopLate: {
    series: both('auth_event_loop_delay_seconds', always(0.2), always(0.01), 'quantile="0.99"'),
    firesAt: '6m',
    notYetAt: '4m',
  },
  AuthCpuHigh: {
    series: {
      ...both('auth_process_cpu_seconds_total', grows(114), grows(60)),
      ...both('auth_host_cores', always(2), always(2)),
    },
    firesAt: '16m',
    notYetAt: '9m',
  },
  AuthMemoryHigh: {
    series: {
      ...both('auth_process_resident_memory_bytes', always(310e6), always(200e6)),
      ...both('auth_host_memory_bytes', always(335e6), always(335e6)),
    },
    firesAt: '6m',
    notYetAt: '4m',
  },
  AuthMemoryGrows: {
    // From 50 MB by 96 MB a day, or not at all.
    series: both('auth_process_resident_memory_bytes', '50e6+2e6x96', '50e6x96'),
    interval: '30m',
    firesAt: '32h',
    notYetAt: '29h',
  },
  AuthUsedAssertionsHigh: { series: nearBound('auth_used_assertions'), firesAt: '6m', notYetAt: '4m' },
  AuthDatabaseFaults: {
    series: both(
      'auth_database_statement_duration_seconds_count',
      grows(6),
      always(6),
      'dependency="client repository",outcome="failed"',
    ),
    firesAt: '8m',
    notYetAt: '4m',
  },
  AuthDatabaseSlow: {
    series: observed(
      'auth_database_statement_duration_seconds_bucket',
      'dependency="client repository",outcome="answered"',
      0.25,
      0.01,
    ),
    firesAt: '10m',
    notYetAt: '4m',
  },
  AuthDatabaseConnectionsUsed: {
    series: both('auth_database_statements_waiting', always(2), always(0), 'dependency="client repository"'),
    firesAt: '3m',
    notYetAt: '1m',
  },
  AuthUsedAssertionsUnavailable: {
    series: both('auth_check_severity', always(1), always(0), 'check="used assertions"'),
    firesAt: '2m',
    notYetAt: '0m',
  },
  AuthKeyDirectoryUnavailable: {
    series: both('auth_key_directory_age_seconds', '5+60x120', always(9)),
    firesAt: '5m',
    notYetAt: '1m',
  },
  AuthSigningKeysEnd: {
    series: {
      ...both('auth_signing_keys_end_seconds', '3600-60x120', always(1_790)),
      ...both('auth_signing_key_rotation_seconds', '3600-60x120', always(895)),
    },
    firesAt: '32m',
    notYetAt: '30m',
  },
  AuthNextKeyMissing: {
    series: {
      ...both('auth_signing_keys_end_seconds', '86400-60x120', '172800-60x120'),
      ...both('auth_signing_key_rotation_seconds', '86400-60x120', '86400-60x120'),
    },
    firesAt: '11m',
    notYetAt: '9m',
  },
  AuthClockOff: {
    series: {
      ...both('auth_clock_offset_seconds', always(-2.5), always(-1.5)),
      ...both('auth_clock_offset_seconds_max', always(10), always(10)),
    },
    firesAt: '2m',
    notYetAt: '0m',
  },
  AuthIssuerKeysOld: {
    series: {
      ...both('auth_issuer_key_sets', always(1), always(0), 'state="stale"'),
      ...both('auth_issuer_key_sets', always(1), always(2), 'state="current"'),
    },
    firesAt: '11m',
    notYetAt: '9m',
  },
  AuthLogLinesLost: {
    series: both('auth_log_lines_lost_total', '0x5 40x115', always(0)),
    firesAt: '6m',
    notYetAt: '4m',
  },
  AuthAuditLinesLost: {
    series: both('auth_audit_lines_lost_total', '0x5 40x115', always(0)),
    firesAt: '6m',
    notYetAt: '4m',
  },
};
