/** Reads the snippets of a page of results. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type ContentKey, findContents } from '../../../db/catalogue/contents.ts'
import type { Database } from '../../../db/client.ts'
import { snippetOf } from './snippet.ts'
import type { Phrase } from './words.ts'

/** The texts that are in memory at once. */
const textsAtOnce = 8

/** Returns the snippets of files in the order of the keys; null for a hit behind the text that is kept. */
export async function readSnippets(
  db: Database,
  keys: readonly ContentKey[],
  phrases: readonly Phrase[],
  signal: AbortSignal,
): Promise<(string | null)[]> {
  const snippets: (string | null)[] = []
  for (let start = 0; start < keys.length; start += textsAtOnce) {
    const wanted = keys.slice(start, start + textsAtOnce)
    const found = await findContents(db, wanted)
    for (const { catalogue, path } of wanted) {
      signal.throwIfAborted()
      const text = found.find(each => each.catalogue === catalogue && each.path === path)
      snippets.push(text ? snippetOf(text.content, phrases) : null)
      // A long text takes milliseconds.
      await nextTurn()
    }
  }
  return snippets
}
