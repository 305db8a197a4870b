/** The use of one of our metrics in a query. */
interface MetricUse {
  readonly name: string;
  /** The labels of its selector, with the pattern that each must or must not match. */
  readonly labels: ReadonlyMap<string, { readonly operator: string; readonly value: string }>;
}

/** Our metrics in a query of Prometheus. */
export function metricsIn(query: string): readonly MetricUse[] {
  return [...query.matchAll(/\b(auth_\w+)(?:\{([^}]*)\})?/g)].map(([, name = '', selector = '']) => ({
    name,
    labels: new Map(
      [...selector.matchAll(/(\w+)(=~|!~|!=|=)"([^"]*)"/g)].map(([, label = '', operator = '', value = '']) => [
        label,
        { operator, value },
      ]),
    ),
  }));
}

/** The labels by which a query groups and matches. */
export function groupingLabelsIn(query: string): readonly string[] {
  return [...query.matchAll(/\b(?:by|on|without|ignoring) \(([^)]*)\)/g)].flatMap(([, names = '']) =>
    names.split(',').map((name) => name.trim()),
  );
}
