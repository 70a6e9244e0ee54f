import { ApiError } from '../api/request.ts'

/** A part of the console that is fetched when it is needed. @throws ApiError where it does not come */
export async function fetched<Part>(part: Promise<Part>): Promise<Part> {
  try {
    return await part
  } catch (cause) {
    // Names of built files change with each version.
    const message = 'It could not be fetched: check the network, then try again. The server may have a newer version.'
    throw new ApiError(message, { status: 0, reason: 'NETWORK', cause })
  }
}
