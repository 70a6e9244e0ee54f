import { StowageError } from './client.ts'

/** Loads a part of the console on first use. @throws StowageError if its script cannot be fetched */
export async function loadPart<Part>(part: Promise<Part>): Promise<Part> {
  try {
    return await part
  } catch (cause) {
    // The names of built files change with each version, so a page that stays open can ask for a missing file.
    const message =
      'This part of the console could not be loaded. Check your connection, then reload the page: the server may have been updated.'
    throw new StowageError(message, { code: 'NETWORK', reason: 'NETWORK', cause })
  }
}
