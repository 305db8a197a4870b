import { DependencyUnavailable } from '../../application/ports/dependency-unavailable.ts';
import type { PrimaryFunctions } from './protocol.ts';

/** What requests ask of the primary. */
type Questions = Pick<
  PrimaryFunctions,
  'acquireSlot' | 'settleSlot' | 'callerDisconnected' | 'abandonSlot' | 'useAssertions' | 'findKey' | 'answerRoute'
>;

/** Milliseconds that an answer may take beyond the longest wait in the primary: messages are slow on a busy machine. */
const MARGIN_MS = 3_000;

const SECRETS = 'secret verification';

interface AnswerLimits {
  /** The longest that an attempt waits in the primary, in milliseconds: for its slot, or for the time of its answer. */
  readonly slotMs: number;
  /** The longest that the primary waits for storage, in milliseconds. */
  readonly storageMs: number;
  /** Questions that the primary has not answered, those beyond their deadline included. */
  readonly unansweredMax: number;
  readonly marginMs?: number;
}

/**
 * The primary, as the requests of a worker ask it. Each question has a deadline. It throws DependencyUnavailable with the
 * fault of the primary, or if the primary does not run, because its process is stopped or its event loop is blocked. Once a
 * deadline has passed without a message from the primary, new questions fail at once, so that nothing collects here or in
 * the pipe. They are asked again as soon as a message shows that the primary runs. It then reads what waits in the pipe.
 */
export class PrimaryProcess implements Questions {
  readonly #primary: Questions;
  readonly #slotMs: number;
  readonly #storageMs: number;
  readonly #unansweredMax: number;
  #unanswered = 0;
  #heard = 0;
  #isSilent = false;

  constructor(primary: Questions, { slotMs, storageMs, unansweredMax, marginMs = MARGIN_MS }: AnswerLimits) {
    this.#primary = primary;
    this.#slotMs = slotMs + marginMs;
    this.#storageMs = storageMs + marginMs;
    this.#unansweredMax = unansweredMax;
  }

  /** At most `unansweredMax`, and the settled slots. */
  get unanswered(): number {
    return this.#unanswered;
  }

  /** Call it when the primary has sent a message. */
  readonly heard = (): void => {
    this.#heard += 1;
    this.#isSilent = false;
  };

  /** A slot that is granted too late is given back: this message follows the question through the pipe. */
  readonly acquireSlot: Questions['acquireSlot'] = (id, request) =>
    this.#ask(
      SECRETS,
      () => this.#primary.acquireSlot(id, request),
      this.#slotMs,
      () => void this.abandonSlot(id).catch(() => {}),
    );

  /** Always sent, also to a primary that does not run: it gives the slot back when it runs again. */
  readonly settleSlot: Questions['settleSlot'] = (id, verdict) =>
    this.#answerTo(SECRETS, this.#primary.settleSlot(id, verdict), this.#slotMs);

  readonly callerDisconnected: Questions['callerDisconnected'] = (id) => this.#primary.callerDisconnected(id);

  readonly abandonSlot: Questions['abandonSlot'] = (id) => this.#primary.abandonSlot(id);

  readonly useAssertions: Questions['useAssertions'] = (uses) =>
    this.#ask('used assertions', () => this.#primary.useAssertions(uses), this.#storageMs);

  readonly findKey: Questions['findKey'] = (kid) =>
    this.#ask('key directory', () => this.#primary.findKey(kid), this.#storageMs);

  readonly answerRoute: Questions['answerRoute'] = (asked) =>
    this.#ask('primary', () => this.#primary.answerRoute(asked), this.#storageMs);

  async #ask<Answer>(
    dependency: string,
    send: () => Promise<Answer>,
    withinMs: number,
    onLate?: () => void,
  ): Promise<Answer> {
    if (this.#isSilent) throw noAnswer(dependency);
    if (this.#unanswered >= this.#unansweredMax) {
      throw new DependencyUnavailable(dependency, new Error('too many questions wait for the primary process'));
    }
    return this.#answerTo(dependency, send(), withinMs, onLate);
  }

  #answerTo<Answer>(dependency: string, call: Promise<Answer>, withinMs: number, onLate = () => {}): Promise<Answer> {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    const heardBefore = this.#heard;
    let isAnswered = false;
    const expire = () => {
      if (isAnswered) return;
      // A primary that was heard meanwhile runs, and only this answer is late.
      if (this.#heard === heardBefore) this.#isSilent = true;
      reject(noAnswer(dependency));
      onLate();
    };
    // Timers come before messages: after a time in which this process did not run, the answers are read first.
    const timer = setTimeout(() => setImmediate(expire), withinMs).unref();
    const answered = () => {
      isAnswered = true;
      this.#unanswered -= 1;
      clearTimeout(timer);
      this.heard();
    };
    this.#unanswered += 1;
    call.finally(answered).then(resolve, (fault: unknown) => {
      reject(fault instanceof DependencyUnavailable ? fault : new DependencyUnavailable(dependency, fault));
    });
    return promise;
  }
}

function noAnswer(dependency: string): DependencyUnavailable {
  return new DependencyUnavailable(dependency, new Error('the primary process does not answer'));
}
