// What the charts, tables and figures of the page show, computed from an answer.

const KEPT_SECONDS = 3600;
/** Samples are 5 s apart: if one is missing, nothing was measured. */
const GAP_SECONDS = 8;

const VERIFICATIONS = {
  running: 'that run',
  fifo: 'in the FIFO queue',
  overflow: 'in the overflow queue',
  unanswered: 'without an answer yet',
};

/** @param {StatusSample[]} kept @param {readonly StatusSample[]} more @param {number} now */
export function addSamples(kept, more, now) {
  const last = kept.at(-1)?.at ?? 0;
  return [...kept, ...more.filter(({ at }) => at > last)].filter(({ at }) => at >= now - KEPT_SECONDS);
}

/**
 * Rates and shares between each sample and the one before. `null`: not known. `out`: not ready, or not measured since the point before,
 * so that no line is drawn there.
 *
 * @param {StatusSample[]} samples
 */
export function pointsOf(samples) {
  return samples.slice(1).flatMap((sample, index) => {
    const before = samples[index];
    const seconds = sample.at - before.at;
    const hits = grown(before.cache_hits, sample.cache_hits);
    const lookUps = hits + grown(before.cache_misses, sample.cache_misses);
    const point = {
      ...sample,
      out: !sample.ready,
      tokens: grown(before.tokens, sample.tokens) / seconds,
      refusals: grown(before.refusals, sample.refusals) / seconds,
      hit_share: lookUps > 0 ? hits / lookUps : null,
    };
    return seconds > GAP_SECONDS ? [{ at: sample.at - 1, out: true }, point] : [point];
  });
}

const grown = (before, after) => Math.max(0, after - before);

/** @param {StatusData} data @param {{ client?: string, reason?: string }} asked whose refusals the answer has */
export function viewOf(data, { client, reason }) {
  const { at, totals, last_minute, checks, queue, latency, database } = data;
  const ofReason = reason && `Requests that were refused last for ${reason}, of callers that are not registered too`;
  return {
    ...data,
    now: at,
    database: database ?? { state: 'not used' },
    reasons: Object.entries(totals.refusals)
      .map(([name, total]) => ({ reason: name, total, recent: last_minute.refusals[name] ?? 0 }))
      .sort((a, b) => b.recent - a.recent || b.total - a.total),
    latencies: [
      { name: 'Tokens', ...latency.token_issued },
      { name: 'Refusals', ...latency.token_refused },
    ],
    verifications: Object.entries(VERIFICATIONS).map(([member, name]) => {
      return { name, now: queue[member], most: queue.bounds[member] };
    }),
    checks: checks.map((check) => {
      const { name, ready, fix } = check;
      const text = check.ready === false ? check.reason : check.note;
      return {
        name,
        state: ready ? (text ? 'note' : 'ready') : 'not ready',
        text: text && (fix ? `${text}: ${fix}` : text),
      };
    }),
    events: data.events.map((event, index) => ({ key: data.events.length - index + event.at, ...event })),
    whose: ofReason || (client ? `The last refusals of ${client}` : 'The last refusal of each registered client'),
  };
}
