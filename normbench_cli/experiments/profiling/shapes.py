"""The input shapes of layers that are profiled by default: those of the norms in a ResNet on images of 32x32."""

SHAPES = ((128, 64, 32, 32), (128, 128, 16, 16), (128, 256, 8, 8), (128, 512, 4, 4))
