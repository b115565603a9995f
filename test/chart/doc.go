// Package chart has the tests of the Helm chart and of the image: they render the chart, apply it to the embedded
// cluster, and run the pod's program from the file system of the image. They are a module of their own, so that the
// host does not require Helm.
package chart
