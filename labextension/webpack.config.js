// Ids that do not depend on the checkout's absolute path: the committed bundle must come out the same everywhere.
module.exports = { optimization: { moduleIds: 'natural', chunkIds: 'natural' } };
