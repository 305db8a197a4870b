/** Runs work of libuv's pool as soon as it comes, where its bound does not matter. */
export const atOnce = <Outcome>(work: () => Promise<Outcome>): Promise<Outcome> => work();
