/**
 * How far the clock of a replica may be off, in seconds, compared with the clock of the key directory. A token that was
 * issued by a clock further off is refused elsewhere: it is not valid yet, or has expired too early.
 */
export const CLOCK_OFFSET_SECONDS_MAX = 10;

/** From this offset on there is a note for the operator, in seconds: replicas allow each other one second. */
export const CLOCK_OFFSET_SECONDS_NOTED = 2;

/** How the clock of day compares with the monotonic clock of the same machine while it is right, in seconds. */
export interface ClockWindow {
  /** The difference by which the clock of day agrees with the directory's clock. */
  readonly exact: number;
  readonly min: number;
  readonly max: number;
}

/**
 * The window after a response of the directory. Its clock was read at some moment between the two times of the
 * monotonic clock, so that half of the time between them is uncertain. Only a clock that is certainly off is outside of
 * the window.
 */
export function clockWindow(directoryTime: number, sentAt: number, receivedAt: number): ClockWindow {
  const uncertain = (receivedAt - sentAt) / 2;
  const exact = directoryTime - (sentAt + uncertain);
  const tolerance = CLOCK_OFFSET_SECONDS_MAX + uncertain;
  return { exact, min: exact - tolerance, max: exact + tolerance };
}
