/** `single` does everything. With workers, `primary` does everything except answering requests, and `worker` answers them. */
export type ProcessRole = 'single' | 'primary' | 'worker';
