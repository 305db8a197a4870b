// The samples of the last hour, and what the charts show of them.

const KEPT_SECONDS = 3600;

/** @param {StatusSample[]} kept @param {readonly StatusSample[]} more @param {number} now */
export function addSamples(kept, more, now) {
  const last = kept.at(-1)?.at ?? 0;
  return [...kept, ...more.filter(({ at }) => at > last)].filter(({ at }) => at >= now - KEPT_SECONDS);
}

/** Rates and shares between each sample and the one before. `null`: not known. @param {StatusSample[]} samples */
export function pointsOf(samples) {
  return samples.slice(1).map((sample, index) => {
    const before = samples[index];
    const seconds = sample.at - before.at;
    const hits = grown(before.cache_hits, sample.cache_hits);
    const lookUps = hits + grown(before.cache_misses, sample.cache_misses);
    return {
      ...sample,
      tokens: grown(before.tokens, sample.tokens) / seconds,
      refusals: grown(before.refusals, sample.refusals) / seconds,
      hit_share: lookUps > 0 ? hits / lookUps : null,
    };
  });
}

const grown = (before, after) => Math.max(0, after - before);
