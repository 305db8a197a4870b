import { readFileSync } from 'node:fs';

const DASHBOARD_FILE = 'deploy/grafana-dashboard.json';

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly description?: string;
  readonly datasource?: { readonly type: string; readonly uid: string };
  readonly gridPos: Readonly<Record<'x' | 'y' | 'w' | 'h', number>>;
  readonly targets?: readonly { readonly refId: string; readonly expr: string; readonly legendFormat: string }[];
}

interface Variable {
  readonly name: string;
  readonly type: string;
  readonly query: string | { readonly query: string };
}

interface Dashboard {
  readonly title: string;
  readonly panels: readonly Panel[];
  readonly templating: { readonly list: readonly Variable[] };
  readonly annotations: { readonly list: readonly { readonly expr?: string }[] };
}

export function readDashboard(): Dashboard {
  return JSON.parse(readFileSync(DASHBOARD_FILE, 'utf8'));
}

/** A query as Grafana sends it: for all replicas of this job, with rates over so much time. */
export function withVariables(query: string, job: string, seconds: number): string {
  const values = { $job: job, $instance: '.*', $__rate_interval: `${seconds}s`, $__range: `${seconds}s` };
  return Object.entries(values).reduce((text, [name, value]) => text.replaceAll(name, value), query);
}
