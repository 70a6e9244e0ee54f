import t from 'tap'
import { isName, nameTraits } from '../../../adapters/backends/azure-blob/entry.ts'
import { attackBackEnd } from '../../hostile/attack-back-end.ts'
import { azureBlob } from '../../hostile/back-ends.ts'
import { namesAllowedBy } from '../../hostile/corpus.ts'

attackBackEnd(t, 'Azure Blob Storage', azureBlob, {
  every: null,
  // Azure has no other names.
  names: namesAllowedBy(nameTraits).filter(isName),
  invalidKeys: [
    ['', 'x'],
    ['a', '', 'x'],
  ],
})
