import t from 'tap'
import { nameTraits } from '../../adapters/backends/dropbox/entry.ts'
import { attackBackEnd } from './attack-back-end.ts'
import { dropbox } from './cloud-back-ends.ts'
import { namesAllowedBy } from './corpus.ts'

attackBackEnd(t, 'Dropbox', dropbox, { every: 4, names: namesAllowedBy(nameTraits) })
