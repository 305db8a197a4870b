// What the tables and figures of the page show, computed from the answers of the last minute.

/**
 * @param {StatusData} data
 * @param {StatusData | undefined} earlier about a minute before
 * @param {string} client the client that was asked for, or empty
 */
export function viewOf(data, earlier, client) {
  const { at, totals, workers, checks, clients, database } = data;
  return {
    ...data,
    now: at,
    database: database ?? { state: 'not used' },
    reasons: Object.entries(totals.refusals)
      .filter(([, total]) => total > 0)
      .map(([reason, total]) => ({ reason, total, recent: earlier && total - (earlier.totals.refusals[reason] ?? 0) }))
      .sort((a, b) => (b.recent ?? 0) - (a.recent ?? 0) || b.total - a.total),
    processes: workers.map((worker) => {
      const before = earlier?.workers.find(({ name }) => name === worker.name)?.cpu_seconds;
      return { ...worker, cpu: before === undefined ? null : (worker.cpu_seconds - before) / (at - earlier.at) };
    }),
    checks: checks.map((check) => {
      if (check.ready === false) return { name: check.name, state: 'not ready', note: check.reason };
      return { name: check.name, state: check.note ? 'note' : 'ready', note: check.note };
    }),
    refused: clients.flatMap(({ client_id, refusals }) => {
      return (client ? refusals : refusals.slice(0, 1)).map((refusal) => ({
        key: refusal.request_id,
        client_id,
        ...refusal,
      }));
    }),
  };
}
