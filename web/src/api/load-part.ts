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
