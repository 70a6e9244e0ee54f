import { useSyncExternalStore } from 'react'

/** Milliseconds in which several changes become one update of the page. */
const updateInterval = 200

/** Tells components about changes of data that React does not hold. */
export class Notifier {
  readonly #listeners = new Set<() => void>()
  #version = 0
  #timer: ReturnType<typeof setTimeout> | undefined

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Differs after each notification. */
  readonly version = (): number => this.#version

  notify(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#version += 1
    for (const listener of this.#listeners) listener()
  }

  /** Notifies within the update interval. */
  notifySoon(): void {
    this.#timer ??= setTimeout(() => this.notify(), updateInterval)
  }
}

/**
 * Returns what `read` returns, and renders the component again after each notification. Without the returned value, an effect
 * would not depend on what has changed.
 */
export function useNotified<Value>({ subscribe, version }: Notifier, read: () => Value): Value {
  useSyncExternalStore(subscribe, version)
  return read()
}
