/**
 * Mechanisms that every part of the console shares, one of each kind: code that loads on first use, changes that components
 * follow, and values that the browser remembers.
 */
import { type ComponentType, lazy } from 'react'
import { common } from '../texts/common.ts'

/** Loads a part of the console on first use. @throws Error if its script cannot be fetched */
export async function loadPart<Part>(part: Promise<Part>): Promise<Part> {
  try {
    return await part
  } catch (cause) {
    // The names of built files change with each version, so a page that stays open can ask for a missing file.
    throw new Error(common.partFailed, { cause })
  }
}

/** Returns a component whose module loads when it is first shown. Show it in a `Suspense`. */
export function lazyPart<Props>(load: () => Promise<ComponentType<Props>>) {
  return lazy(async () => ({ default: await loadPart(load()) }))
}
