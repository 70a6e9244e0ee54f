import t from 'tap'
import { isUnstorable, nameTraits } from '../../../adapters/backends/onedrive/entry.ts'
import { attackBackEnd } from '../../hostile/attack-back-end.ts'
import { onedrive } from '../../hostile/cloud-back-ends.ts'
import { namesAllowedBy } from '../../hostile/corpus.ts'

attackBackEnd(t, 'OneDrive', onedrive, {
  every: 4,
  names: namesAllowedBy(nameTraits).filter(name => !isUnstorable(name)),
})
