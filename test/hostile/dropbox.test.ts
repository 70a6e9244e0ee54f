import { nameTraits } from '../../adapters/backends/dropbox/entry.ts'
import { attackBackEnd } from './attack-back-end.ts'
import { dropbox } from './cloud-back-ends.ts'
import { namesAllowedBy } from './corpus.ts'

attackBackEnd('Dropbox', dropbox, { every: 4, names: namesAllowedBy(nameTraits) })
