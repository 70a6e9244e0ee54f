import t from 'tap'
import { isUnstorable, nameTraits } from '../../adapters/backends/onedrive/entry.ts'
import { attackBackEnd } from './attack-back-end.ts'
import { onedrive } from './cloud-back-ends.ts'
import { namesAllowedBy } from './corpus.ts'

attackBackEnd(t, 'OneDrive', onedrive, {
  every: 4,
  names: namesAllowedBy(nameTraits).filter(name => !isUnstorable(name)),
})
