import type { ArchiveTop } from '../../../services/files/index.ts'
import { topName } from '../zip/names.ts'

/** Gives each entry at the top of an archive a name of its own, also on systems that ignore case. */
export class TopNames {
  readonly #names = new Map<ArchiveTop, string>()
  readonly #taken = new Set<string>()

  of(top: ArchiveTop): string {
    const known = this.#names.get(top)
    if (known !== undefined) return known
    const name = this.#free(topName(top.name))
    this.#names.set(top, name)
    this.#taken.add(keyOf(name))
    return name
  }

  #free(name: string): string {
    const dot = name.lastIndexOf('.')
    const [stem, ending] = dot > 0 ? [name.slice(0, dot), name.slice(dot)] : [name, '']
    for (let number = 0; ; number++) {
      const candidate = number === 0 ? name : `${stem} (${number})${ending}`
      if (!this.#taken.has(keyOf(candidate))) return candidate
    }
  }
}

function keyOf(name: string): string {
  return name.normalize('NFC').toLowerCase()
}
