/** The responses of a PROPFIND request in batches, for `sendMultistatus`. They are made one by one while they are sent. */
import { formatPath } from '../../auth/path.ts'
import type { Viewer } from '../../auth/viewer.ts'
import type { FileEntry } from '../../services/files/index.ts'
import type { DeadProperties } from '../../services/webdav/properties.ts'
import { type DavRequest, hrefOf } from './dav-request.ts'
import { entryResponder } from './entry-response.ts'
import type { WantedProperties } from './propfind-body.ts'
import { loadFacts } from './propfind-facts.ts'
import { type VirtualFolder, virtualSource } from './virtual-folders.ts'

export type Responses = AsyncGenerator<Iterable<string>, void, undefined>

export async function* virtualResponses(
  folders: readonly VirtualFolder[],
  viewer: Viewer,
  wanted: WantedProperties,
): Responses {
  const respond = entryResponder(wanted)
  yield folders.map(folder => respond(folder.href, virtualSource(folder, viewer), []))
}

/** @param pages the entries in a folder; null without them */
export async function* entryResponses(
  dav: DavRequest,
  entry: FileEntry,
  pages: AsyncIterable<FileEntry[]> | null,
  wanted: WantedProperties,
): Responses {
  const { target, options } = dav
  const { properties, sourceOf } = await loadFacts(dav, entry, wanted)
  const respond = entryResponder(wanted)

  function* write(entries: readonly FileEntry[], dead: DeadProperties): Generator<string> {
    for (const each of entries) {
      const href = hrefOf(options, { slug: target.slug, path: formatPath(each.path) }, each.kind === 'directory')
      yield respond(href, sourceOf(each), dead.get(each.path) ?? [])
    }
  }

  async function* responsesOf(entries: readonly FileEntry[]): Responses {
    for await (const batch of properties.batches(entries)) yield write(batch.entries, batch.properties)
  }

  const members = pages?.[Symbol.asyncIterator]()
  try {
    // The first page is read before the first batch, because until then a failure is a proper error response.
    let page = await members?.next()
    yield* responsesOf([entry])
    while (page && !page.done) {
      // The back end reads the next page meanwhile.
      const next = members?.next()
      next?.catch(() => {})
      yield* responsesOf(page.value)
      page = await next
    }
  } finally {
    await members?.return?.()
  }
}
