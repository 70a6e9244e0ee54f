/** E-mail messages (RFC 5322): subject, people, text and the names of attachments. */
import PostalMime, { type Address } from 'postal-mime'
import { type Original, readWhole } from '../../../decoding/original.ts'
import { textOfHtml } from './html.ts'
import type { ExtractTask } from './protocol.ts'

/** @throws Error if the file is too large, or no message */
export async function readMail(original: Original, { maxBytes }: ExtractTask): Promise<string> {
  const bytes = await readWhole(original, maxBytes)
  const { headers, subject, from, to, cc, text, html, attachments } = await PostalMime.parse(bytes)
  if (headers.length === 0) throw new Error('The file is no message.')
  const people = [...(from ? [from] : []), ...(to ?? []), ...(cc ?? [])].flatMap(namesOf)
  const body = text?.trim() ? text : textOfHtml(html ?? '')
  const names = attachments.flatMap(({ filename }) => filename ?? [])
  return [subject ?? '', people.join(', '), body, ...names].join('\n')
}

function namesOf({ name, address, group }: Address): string[] {
  return group ? group.flatMap(namesOf) : [`${name} ${address ?? ''}`.trim()]
}
