/** How long a token may be valid, in seconds. */
export const LIFETIME_SECONDS_MIN = 1;
export const LIFETIME_SECONDS_MAX = 86_400;

/** The rule that a client's token lifetime breaks, if it breaks one; null: that of the deployment. */
export function ruleOfLifetime(seconds: unknown): string | undefined {
  if (seconds === null) return undefined;
  const isWithin = Number.isInteger(seconds) && Number(seconds) >= LIFETIME_SECONDS_MIN;
  if (isWithin && Number(seconds) <= LIFETIME_SECONDS_MAX) return undefined;
  return `must be a whole number of seconds from ${LIFETIME_SECONDS_MIN} to ${LIFETIME_SECONDS_MAX}`;
}
