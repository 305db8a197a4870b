// Values as people read them. Each format takes a value, and the time now in seconds since 1970.

const rounded = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
const precise = new Intl.NumberFormat('en', { maximumSignificantDigits: 3 });
const clock = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' });
const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' });

const digits = (value) => (Math.abs(value) < 1000 ? precise : rounded).format(value);
const time = (at) => clock.format(at * 1000);

function when(at, now) {
  const date = day.format(at * 1000);
  return date === day.format(now * 1000) ? time(at) : `${date}, ${time(at)}`;
}

function duration(seconds) {
  if (seconds < 100) return `${Math.round(seconds)} s`;
  if (seconds < 6000) return `${Math.round(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds / 86_400)} days`;
}

const distance = (at, now) => (at > now ? `in ${duration(at - now)}` : `${duration(now - at)} ago`);

/** By the names that page.html uses. */
export const FORMATS = {
  text: String,
  optional: String,
  whole: (value) => rounded.format(value),
  rate: (value) => `${digits(value)}/s`,
  share: (value) => `${Math.round(value * 1000) / 10} %`,
  megabytes: (value) => `${rounded.format(value / 1e6)} MB`,
  milliseconds: (value) => `${digits(value * 1000)} ms`,
  offset: (value) => `${value > 0 ? '+' : ''}${digits(value)} s`,
  yes: (value) => (value ? 'yes' : 'no'),
  time,
  when,
  distance,
  both: (at, now) => `${when(at, now)} (${distance(at, now)})`,
};

/** What was not measured is a dash. */
export function format(name, value, now = 0) {
  const missing = name === 'optional' ? '' : '–';
  return value === null || value === undefined ? missing : FORMATS[name](value, now);
}
